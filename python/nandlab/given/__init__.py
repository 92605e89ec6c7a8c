"""Input of users: arguments, `PATH=VALUE` assignments, TOML, files to read and to write.

In come values as a user wrote them; out come checked values, or a refusal in one line.
"""
