"""Tasks and labels for other tools: inspect_ai, lmms-eval, VLMEvalKit and FiftyOne."""
