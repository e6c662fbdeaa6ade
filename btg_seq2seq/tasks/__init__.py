"""The paper's tasks: one module each that makes or reads its data."""
