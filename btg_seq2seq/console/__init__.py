"""The parts that commands share: arguments, lines, messages and output."""
