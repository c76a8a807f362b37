/** What a person reads before trusting: every check and glob on a line of its own, whole, and with nothing invisible. */
import type { TrustedParts } from "../../../daemon/lead/settings.ts";
import { gatesText } from "../../../protocol/lead/roles.ts";
import { visible } from "../../../protocol/text.ts";
import { type ProcessContext, print, screenOf } from "../../process-context.ts";
import { tilde } from "../../view/places.ts";
import { clean, clock, wrap } from "../../view/text.ts";
import type { NamedChecks } from "./read.ts";

/** Prints what would be trusted, and what of it is new. */
export function showTrust(world: ProcessContext, named: NamedChecks): void {
  const { file, checks, gates, setup, problems, trust, trusted } = named;
  const { home, width, now } = screenOf(world);
  const place = clean(tilde(named.repository.project, home));
  for (const problem of problems) print(world, wrap(`! ${clean(problem)}`, width, 2));
  const lines = linesOf(named);
  if (lines.length > 0) print(world, [`Checks of ${place}, from ${clean(tilde(file, home))}:`, ...lines]);
  if (trust === "changed" && trusted !== null) {
    const what =
      lines.length === 0 ? "All that you trusted is gone" : "This has changed since you trusted it";
    print(world, [`! ${what} (${clock(trusted.at, now)}).`, ...changesOf(trusted, named)]);
  }
  if (checks.length > 0)
    print(
      world,
      wrap(
        "kite check runs these lines in a shell with your rights. What they call (scripts, make, npm) may change later: only the lines themselves are trusted.",
        width,
      ),
    );
  if (setup !== null)
    print(world, wrap("kite merge runs the setup before them, in the fresh worktree of each merge.", width));
  if (gates !== null)
    print(world, wrap("Trusted gates stay in force, even if they vanish from the file.", width));
}

/** Prints the programs that git may run in a merge, and which of them are new. */
export function showPrograms(
  world: ProcessContext,
  programs: ReadonlyMap<string, string>,
  trusted: ReadonlyMap<string, string>,
): void {
  if (programs.size === 0) return;
  const { width } = screenOf(world);
  const lines = [...programs].map(
    ([key, line]) => `  ${trusted.get(key) === line ? " " : "+"} ${visible(key)}  ${visible(line)}`,
  );
  const what =
    "Programs that the repository's own git configuration names (any agent may have written it). Git runs them with your rights, in kite merge only if you trust them:";
  print(world, [...wrap(what, width), ...lines]);
}

/** Returns a line for each check, each of its globs, the gates, and the setup. */
function linesOf({ checks, gates, setup = null }: TrustedParts): string[] {
  const width = Math.max(0, ...checks.map(({ name }) => name.length));
  return [
    ...checks.flatMap(({ name, command, when }) => [
      `  ${name.padEnd(width)}  ${visible(command)}`,
      ...(when === null ? [] : [`  ${" ".repeat(width)}  only after a change of`]),
      ...(when ?? []).map(glob => `  ${" ".repeat(width)}    ${visible(JSON.stringify(glob))}`),
    ]),
    ...(gates === null ? [] : [`  gates: ${gatesText(gates)}`]),
    ...(setup === null ? [] : [`  setup: ${visible(setup)}`]),
  ];
}

/** Returns what was trusted and is not there any more, and what is there instead. */
function changesOf(
  { checks, gates, setup }: NonNullable<NamedChecks["trusted"]>,
  now: TrustedParts,
): string[] {
  if (checks === null) return ["  (what it was before is not known any more)"];
  const [before, after] = [{ checks, gates, setup: setup ?? null }, now].map(parts => partsOf(parts));
  if (before === undefined || after === undefined) return [];
  return [
    ...[...before].filter(([name, text]) => after.get(name) !== text).map(([, text]) => `  - ${text}`),
    ...[...after].filter(([name, text]) => before.get(name) !== text).map(([, text]) => `  + ${text}`),
  ];
}

/** Each part by its name, on one line. */
function partsOf({ checks, gates, setup = null }: TrustedParts): ReadonlyMap<string, string> {
  const parts = new Map(
    checks.map(({ name, command, when }) => {
      const globs = when === null ? "" : `  when ${visible(JSON.stringify(when))}`;
      return [name, `${name}  ${visible(command)}${globs}`];
    }),
  );
  // A check's name has no blank.
  if (gates !== null) parts.set("the gates", `gates: ${gatesText(gates)}`);
  if (setup !== null) parts.set("the setup", `setup: ${visible(setup)}`);
  return parts;
}
