"""RepoSearcher: six tools that look up definitions by file and name, then ranked functions (ToolTrain, section 3.1)."""
