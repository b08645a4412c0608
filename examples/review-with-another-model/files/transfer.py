"""Moves money between accounts."""


def transfer(accounts, source, target, cents):
    """Takes cents from one account and gives them to another."""
    if accounts[source] < cents:
        raise ValueError("not enough money")
    accounts[source] -= cents
    accounts[target] += cents
