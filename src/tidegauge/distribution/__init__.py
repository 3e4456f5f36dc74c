"""Finds or fetches the files of a system: Java runtimes, Maven, and one checksummed directory a version."""
