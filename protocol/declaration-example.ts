/** The filled example that refusals show: what copies it back counts as a placeholder. */
export const declarationExample = {
  task: "Make the login survive a restart of the server",
  reason: "I read the session store and its tests",
  step: "Keep the token in the store, and test it",
  sees: "The token lives in memory only",
  will: "Write the token to the store",
} as const;
