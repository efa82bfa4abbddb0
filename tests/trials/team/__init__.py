"""A team's set-up tried with real servers: PostgreSQL under Prefect and MLflow, an S3 store under DVC and MLflow's files."""
