"""Does this machine compute correctly, and what is missing: doctor, selfcheck, the build for a graphics card."""
