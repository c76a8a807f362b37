/** The setting `notify`: what `kite notify` runs, and after how long. Only the user's own file may have it. */
import * as z from "zod";
import { limits } from "../../protocol/limits.ts";
import { type SettingTable, setting } from "./setting.ts";

const dayMs = 24 * 3_600_000;
const afterMs = z.number().int().min(1_000).max(dayMs);

const notifySchema = z
  .strictObject({
    /** The words of a program; title and text follow as two more. None: the notifier of the desktop. */
    command: z.array(z.string().max(limits.spawnWordBytes)).min(1).max(limits.spawnWordsMax),
    /** How long somebody has to need a person, in ms. */
    personMs: afterMs,
    /** How long a wait for a lock has to last, in ms. */
    waitMs: afterMs,
  })
  .partial();

export interface NotifySetting {
  readonly command?: readonly string[] | undefined;
  readonly personMs?: number | undefined;
  readonly waitMs?: number | undefined;
}

/** The times of a setting that names none. */
export const notifyDefaults = { personMs: 60_000, waitMs: 60_000 } as const;

export const notifySettings = {
  /** What `kite notify` runs, and after how long. */
  notify: setting<NotifySetting>({ schema: notifySchema, initial: {}, variable: "KITE_NOTIFY" }),
} satisfies SettingTable;
