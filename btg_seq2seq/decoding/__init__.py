"""From a trained model and a sentence to translations: flat, and by the grammar (cky)."""
