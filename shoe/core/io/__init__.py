"""Files in and out: read without running what they hold, written whole or not at all."""
