"""The chart of cky decoding: its plan, candidates, strings, and the mass of a given target."""
