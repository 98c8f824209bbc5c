"""The command line: serve, run, compile, conformance, doctor, test, bench and lock."""
