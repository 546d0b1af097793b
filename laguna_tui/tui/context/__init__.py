"""The context on the screen: its blocks, what a change or a message costs, and a block before and after."""
