/** Checks the configuration: the user's file, the variables, and the file of the project around the working directory. */
import { isAbsolute, join } from "node:path";
import { loadConfig } from "../../daemon/config/config.ts";
import { readSmall } from "../../daemon/facts/prober.ts";
import { shellArgument } from "../../protocol/text.ts";
import { isObject } from "../../protocol/wire.ts";
import { settingsInForce } from "../config/in-force.ts";
import type { ProcessContext } from "../process-context.ts";
import { type FindRepository, findRepository } from "../project.ts";
import type { Check } from "../view/doctor.ts";
import { type Advice, advise, aside, ok, warn } from "./advice.ts";
import { oddFile } from "./odd-file.ts";

const check = "config";

export async function checkConfig(
  world: ProcessContext,
  find: FindRepository = findRepository,
): Promise<Check[]> {
  const { env, paths } = world;
  const repository = await find(world.cwd);
  const project = "project" in repository ? { projectDir: repository.project } : {};
  const { problems, values } = await loadConfig({ env, paths, ...project });
  const rest = [...(values.mode === "observe" ? [observes()] : []), ...(await daemonChecks(world))];
  if ("unreachable" in repository) {
    const detail = `the configuration of the project around ${world.cwd} was not read: ${repository.unreachable}`;
    const todo = "try again when the machine is less busy: kite doctor";
    return [warn(check, detail, todo), ...(await problemChecks(world, problems)), ...rest];
  }
  if (problems.length === 0) return [ok(check, "every value is valid"), ...rest];
  return [...(await problemChecks(world, problems)), ...rest];
}

/** What the running daemon does with the settings as they are now. */
async function daemonChecks(world: ProcessContext): Promise<Check[]> {
  const { problem, waiting } = (await settingsInForce(world)) ?? { problem: null, waiting: [] };
  const later = waiting.map(key =>
    warn(
      check,
      `${key} has another value than the running daemon`,
      advise("it counts from its next start", "kite down", "kite up"),
    ),
  );
  if (problem === null) return later;
  const kept = "the running daemon keeps the settings that it read before";
  return [warn(check, kept, "correct the file that is ignored: the daemon reads it again at once"), ...later];
}

/** A person chose it, so `--fix` does not end it. */
function observes(): Check {
  const detail = "Kite only observes: it records what it would do, and no edit waits or is denied";
  return warn(
    "mode",
    detail,
    "see what it would have done: kite stats; let it act: kite config set mode act",
  );
}

async function problemChecks(world: ProcessContext, problems: readonly string[]): Promise<Check[]> {
  const wrong = await wrongKeys(world);
  return problems.map(detail => {
    const isLong = detail.startsWith("yieldMs (") && detail.includes(`${world.paths.config}) must be less`);
    const key = isLong ? "yieldMs" : wrong.get(detail);
    return warn(check, detail, adviceFor(world, detail, key));
  });
}

function adviceFor(world: ProcessContext, problem: string, key: string | undefined): Advice | string {
  const { config } = world.paths;
  const [file = join(".kite", "config.json")] = /^\/\S+/.exec(problem) ?? [];
  const path = file.replace(/:$/, "");
  const odd = problem.includes(" is ignored: ") && isAbsolute(path) ? oddFile(path) : null;
  if (odd !== null) return odd.advice;
  if (key !== undefined)
    return advise(
      "give it a valid value (kite config set), or leave it out",
      `kite config unset ${shellArgument(key)}`,
    );
  if (problem.startsWith(`${config} is ignored`))
    return advise("correct that place; or put the file aside, as nothing of it counts", aside(config));
  const [, variable] = /\b(KITE_[A-Z_]+)\b/.exec(problem) ?? [];
  if (variable !== undefined) return `correct the variable where your shell sets it: unset ${variable}`;
  return `correct it in ${path}, then see: kite config`;
}

/** Returns the keys of the user's file that are wrong by themselves, by the sentence that says so. */
async function wrongKeys({ paths }: ProcessContext): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const [key, value] of Object.entries(await ownSettings(paths.config))) {
    const alone = () => Promise.resolve(JSON.stringify({ [key]: value }));
    const { problems } = await loadConfig({ env: {}, paths, read: alone });
    for (const problem of problems) found.set(problem, key);
  }
  return found;
}

/** Returns the values of the user's file by key, valid or not; none if the file is missing or no JSON. */
export async function ownSettings(path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const value: unknown = JSON.parse((await readSmall(path)) ?? "");
    return isObject(value) ? value : {};
  } catch {
    // The problems already say that the file is missing or no JSON.
    return {};
  }
}
