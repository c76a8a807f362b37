/** Settings of the leading half for `kite config`. */
import type { ConfigValues } from "../../daemon/config/config.ts";
import { healthText, projectFile } from "../../daemon/lead/settings.ts";
import { InstallFailed } from "../../hooks/install/file.ts";
import { type Gates, gatesInForce, gatesText, stricter } from "../../protocol/lead/roles.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { readTrusted, trustNow } from "./check-trust.ts";

/** Returns the settings whose values are objects as text, by their names. */
export function settingTexts({ gates, health }: ConfigValues): Readonly<Record<string, string>> {
  return { gates: gatesInForce(gates), health: healthText(health) };
}

interface Trusted {
  /** The settings that differ from `own`, and where they come from. */
  readonly values: Pick<Partial<ConfigValues>, "gates">;
  readonly sources: { readonly gates?: string };
  readonly problems: readonly string[];
}

/** Returns what the gates that a person trusted of the project change, and says so if its file is another one by now. */
export async function trusted(
  { paths }: ProcessContext,
  project: string | null,
  own: ConfigValues,
): Promise<Trusted> {
  if (project === null) return { values: {}, sources: {}, problems: [] };
  const { gates, problems } = await trustedGates(paths.trusted, project);
  const joined = gates === null ? own.gates : stricter(own.gates, gates);
  if (gatesText(joined) === gatesText(own.gates)) return { values: {}, sources: {}, problems };
  return { values: { gates: joined }, sources: { gates: paths.trusted }, problems };
}

async function trustedGates(
  store: string,
  project: string,
): Promise<{ readonly gates: Gates | null; readonly problems: readonly string[] }> {
  const file = projectFile(project);
  try {
    const all = readTrusted(store);
    const gates = all.get(file)?.gates ?? null;
    if (gates === null || (await trustNow(file, all)) === "trusted") return { gates, problems: [] };
    const changed = `${file} is not what you trusted: the trusted gates stay in force until you run kite check --trust`;
    return { gates, problems: [changed] };
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return { gates: null, problems: [error.message] };
  }
}
