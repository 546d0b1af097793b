"""What every other package of the app may use: values and helpers without a subject of their own."""
