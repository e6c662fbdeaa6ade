"""Derivations as pictures: SVG, PNG, self-contained HTML, and boxes in a terminal."""
