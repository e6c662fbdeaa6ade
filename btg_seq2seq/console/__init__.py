"""What the commands share: arguments, lines, messages and output."""
