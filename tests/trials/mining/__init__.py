"""Mining against the tests' GitHub at scale: what it costs, and that neither faults nor kills change what is mined."""
