"""Laguna's conversation: safe encoding, the turns as tokens, and a streaming parser for what comes back.

Deals in text and token ids only; nothing here touches native code.
"""
