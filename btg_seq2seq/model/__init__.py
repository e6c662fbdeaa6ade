"""The networks: a pretrained or fresh encoder-decoder, and what scores splits from its states."""
