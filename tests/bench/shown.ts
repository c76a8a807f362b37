/** Returns what a model reads of a hook's answer: its context and the reason of a refusal. The rest is for the person. */
export function shownOf({ output = "", stderr = "" }: Readonly<Record<string, unknown>>): string {
  if (output === "") return String(stderr);
  const { hookSpecificOutput = {}, reason = "" } = JSON.parse(String(output));
  const { additionalContext = "", permissionDecisionReason = "" } = hookSpecificOutput;
  return `${additionalContext}${permissionDecisionReason}${reason}`;
}
