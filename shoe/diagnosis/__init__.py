"""Which errors cost a detector its mAP: error types, oracles that mend them, and what mending gains."""
