/** What is odd about the settings that a running daemon has: `kite status`, `kite config` and `kite doctor` say it. */
import { LocalError } from "../../client/errors.ts";
import type { SettingsRow } from "../../protocol/schemas/overview.ts";
import type { ProcessContext } from "../process-context.ts";

/** Returns a sentence for each oddity. */
export function settingsTexts(row: SettingsRow | undefined): readonly string[] {
  const { problem, waiting } = row ?? { problem: null, waiting: [] };
  const kept = problem === null ? [] : [`${problem}; the daemon keeps the settings that it read before`];
  return [...kept, ...waiting.map(waitingText)];
}

/** Says that a setting counts only from the daemon's next start. */
export function waitingText(key: string): string {
  return `${key} counts from the daemon's next start: kite down && kite up`;
}

/** Returns what is odd about the running daemon's settings; null: no daemon answers. */
export async function settingsInForce(world: ProcessContext): Promise<SettingsRow | null> {
  try {
    const client = await world.connect({ name: "kite", reconnect: false });
    try {
      const answer = await client.request("overview", {});
      return answer.ok ? (answer.settings ?? { problem: null, waiting: [] }) : null;
    } finally {
      client.close();
    }
  } catch (error) {
    if (error instanceof LocalError) return null;
    throw error;
  }
}
