"""Tokens that prove who is asking."""

import hashlib
import hmac

MAX_AGE_S = 3600


def sign(user, issued_at, key):
    text = f"{user}:{issued_at}".encode()
    return hmac.new(key, text, hashlib.sha256).hexdigest()


def check_token(user, issued_at, signature, key, now):
    """Whether a token is genuine."""
    return hmac.compare_digest(sign(user, issued_at, key), signature)
