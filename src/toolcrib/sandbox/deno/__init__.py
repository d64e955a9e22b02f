"""The back-ends `typescript` and `javascript`: Deno with every permission off."""
