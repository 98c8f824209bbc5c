"""A corpus of attacks played against the sandbox and the service: `warpyard attack`, and the security tests."""
