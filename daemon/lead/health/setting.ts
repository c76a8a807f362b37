/** The form of the setting `health`. */
import * as z from "zod";
import type { StalledSetting } from "../../../protocol/lead/spawn.ts";
import { limits } from "../../../protocol/limits.ts";
import { type SettingTable, setting } from "../../config/setting.ts";

/** What the daemon does with an agent that stalled; the times are in milliseconds. */
export interface HealthSetting {
  /** Without a sign of life for this long an agent in a turn is quiet; and while a tool of its is called. */
  readonly quietMs: number;
  readonly quietToolMs: number;
  /** Quiet for this long it is stalled; with a red task, with a critical one. */
  readonly stalledMs: number;
  readonly stalledRedMs: number;
  readonly stalledCriticalMs: number;
  /**
   * `tell`: its lead and people are told. `release`: its tasks and turn locks are given back, too. `replace`: who waits for an
   * agent that Kite spawned replaces it.
   */
  readonly stalled: StalledSetting;
}

export const healthDefaults: HealthSetting = {
  quietMs: limits.quietMs,
  quietToolMs: limits.quietToolMs,
  stalledMs: limits.stalledMs,
  stalledRedMs: limits.stalledRedMs,
  stalledCriticalMs: limits.stalledCriticalMs,
  stalled: "tell",
};

const error = `expected tell, release or replace, or an object with any of ${Object.keys(healthDefaults).join(", ")}; times are whole milliseconds from 1 to ${limits.healthMaxMs}`;
const time = z
  .number({ error })
  .int({ error })
  .min(1, { error })
  .max(limits.healthMaxMs, { error })
  .optional();
const stalled = z.enum(["tell", "release", "replace"]);

/** What to do, or single values over the defaults. */
const healthSchema = z
  .union(
    [
      stalled,
      z.strictObject({
        quietMs: time,
        quietToolMs: time,
        stalledMs: time,
        stalledRedMs: time,
        stalledCriticalMs: time,
        stalled: stalled.optional(),
      }),
    ],
    { error },
  )
  .transform((asked): HealthSetting => {
    if (typeof asked === "string") return { ...healthDefaults, stalled: asked };
    const { stalledMs = healthDefaults.stalledMs } = asked;
    return {
      quietMs: asked.quietMs ?? healthDefaults.quietMs,
      quietToolMs: asked.quietToolMs ?? Math.max(healthDefaults.quietToolMs, asked.quietMs ?? 0),
      stalledMs,
      // Who lowers or raises the time for all tasks means that of dangerous ones, too, if it would be the lesser.
      stalledRedMs: asked.stalledRedMs ?? Math.max(healthDefaults.stalledRedMs, stalledMs),
      stalledCriticalMs: asked.stalledCriticalMs ?? Math.max(healthDefaults.stalledCriticalMs, stalledMs),
      stalled: asked.stalled ?? healthDefaults.stalled,
    };
  });

export const healthSettings = {
  /** When an agent that gives no sign of life is quiet and stalled, and what is done then. */
  health: setting<HealthSetting>({
    says: "what follows if an agent stalls: tell, release or replace; and after how long, in ms",
    schema: healthSchema,
    initial: healthDefaults,
    variable: "KITE_HEALTH",
  }),
} satisfies SettingTable;

/** Returns the setting in a few words for people. */
export function healthText({ quietMs, stalledMs, stalled: then }: HealthSetting): string {
  return `quiet after ${quietMs} ms, stalled ${stalledMs} ms later: ${then}`;
}
