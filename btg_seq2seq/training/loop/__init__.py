"""The training loop: the trainer with its batches, logs and checkpoints, and the screen."""
