"""The drafters: DFlash models that read the target's hidden states, and copying from the transcript and from files."""
