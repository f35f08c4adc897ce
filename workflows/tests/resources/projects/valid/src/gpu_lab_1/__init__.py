"""A project that the tests of the contract read; nothing here is ever run."""
