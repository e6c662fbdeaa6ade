"""Names of the files that a run writes for people and reports; no torch."""

METRICS_FILE = "metrics.jsonl"  # everything that was logged
EXAMPLES_FILE = "examples.jsonl"  # dev sentences as they were translated at each evaluation
ENVIRONMENT_FILE = "environment.jsonl"  # machine and versions, a line for every start
DATA_FILE = "data.json"  # checksums of the texts

DEV = "eval_"  # prefix of measures of the dev set in the metrics
