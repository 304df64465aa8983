"""Stands in for torch.cuda: there is no GPU."""


def is_available() -> bool:
    return False
