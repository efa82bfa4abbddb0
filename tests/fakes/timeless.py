"""Records of runs that are to be equal."""


def timeless(value):
    """A record without its wall times, which differ from run to run."""
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if not key.startswith("seconds")}
    return [timeless(item) for item in value] if isinstance(value, list) else value
