"""Which errors cost a detector its mAP: error types, oracles that fix them, and what that gains."""
