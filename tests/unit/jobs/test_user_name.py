"""A user without a name gets one before Snakemake asks for it."""

import getpass
import os
import pwd

import pytest
from beirflow.jobs.user_name import name_the_user

NAMES = ("LOGNAME", "USER", "LNAME", "USERNAME")


def test_a_user_without_a_name_is_called_by_the_number_and_a_name_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, "")
    named: list[str] = []

    def look_up(number: int) -> list[str]:
        if not named:
            raise KeyError(f"getpwuid(): uid not found: {number}")
        return named

    monkeypatch.setattr(pwd, "getpwuid", look_up)
    with pytest.raises((KeyError, OSError)):
        getpass.getuser()
    name_the_user()
    assert getpass.getuser() == f"uid-{os.getuid()}"
    monkeypatch.setenv("USER", "")
    named.append("ada")
    name_the_user()
    assert (getpass.getuser(), os.environ["USER"]) == ("ada", "")
