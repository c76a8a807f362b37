/**
 * Whether a command fits a rule `Bash(...)` of the client: recorded from 2.1.197 and 2.1.329, which hold a rule against
 * each command of a line, without its redirections and its quotes. `*` is any text; where it is the only one and stands
 * behind a blank, it may be missing with the blank. A line that the client cannot read (loops, functions, braces,
 * here-documents without quotes) fits every rule.
 */
export function fitsRule(rule: string, command: string): boolean {
  const [, pattern] = /^Bash\((.+)\)$/s.exec(rule) ?? [];
  if (pattern === undefined) throw new Error(`a rule of another kind: ${rule}`);
  const begin = /^([^*]+) \*$/.exec(pattern)?.[1];
  if (begin !== undefined) return command === begin || command.startsWith(`${begin} `);
  const text = pattern.split("*").map(part => part.replace(/[^\w\s]/g, "\\$&"));
  return new RegExp(`^${text.join("[^]*")}$`).test(command);
}
