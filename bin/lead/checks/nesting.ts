/**
 * Checks that run `kite check`. A project's tests may do so, even of other projects; a check that runs itself would never
 * end. `KITE_CHECK` therefore names the checks that run around a command.
 */
type Env = Readonly<Record<string, string | undefined>>;

/** Returns a sentence if a check of the project runs this command. */
export function nestingProblem(env: Env, project: string): string | null {
  const outer = nested(env).find(one => one.project === project);
  if (outer === undefined) return null;
  return `this runs within the check ${outer.name} of the same project, and would never end; call its commands themselves`;
}

/** Returns the environment of a check. */
export function withNested(env: Env, project: string, name: string): Env {
  return { ...env, KITE_CHECK: JSON.stringify([...nested(env), { project, name }]) };
}

interface Nested {
  readonly project: string;
  readonly name: string;
}

function nested({ KITE_CHECK: text }: Env): readonly Nested[] {
  try {
    const read: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(read) ? read.filter(isNested) : [];
  } catch {
    // Somebody else set it: it names no check.
    return [];
  }
}

function isNested(value: unknown): value is Nested {
  return (
    typeof value === "object" &&
    value !== null &&
    "project" in value &&
    typeof value.project === "string" &&
    "name" in value &&
    typeof value.name === "string"
  );
}
