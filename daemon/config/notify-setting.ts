/** The setting `notify`: what `kite notify` runs, and after how long. Only the user's own file may have it. */
import * as z from "zod";
import { limits } from "../../protocol/limits.ts";
import { type SettingTable, setting } from "./setting.ts";

const dayMs = 24 * 3_600_000;
const example = 'expected an object, such as {"command": ["notify-send"], "waitMs": 60000}';
const error = `${example}, with times in whole milliseconds from 1000 to ${dayMs}`;
const afterMs = z.number({ error }).int({ error }).min(1_000, { error }).max(dayMs, { error });

const notifySchema = z
  .strictObject(
    {
      /** The words of a program; title and text follow as two more. None: the notifier of the desktop. */
      command: z
        .array(z.string().max(limits.spawnWordBytes), { error })
        .min(1, { error })
        .max(limits.spawnWordsMax, { error }),
      /** Whether the daemon's start begins `kite notify`, and its end ends it. */
      start: z.boolean({ error }),
      /** How long somebody has to need a person, in ms. */
      personMs: afterMs,
      /** How long a wait for a lock has to last, in ms. */
      waitMs: afterMs,
    },
    { error },
  )
  .partial();

export interface NotifySetting {
  readonly command?: readonly string[] | undefined;
  readonly start?: boolean | undefined;
  readonly personMs?: number | undefined;
  readonly waitMs?: number | undefined;
}

/** The times of a setting that names none. */
export const notifyDefaults = { personMs: 60_000, waitMs: 60_000 } as const;

export const notifySettings = {
  /** What `kite notify` runs, whether it starts with the daemon, and after how long it tells. */
  notify: setting<NotifySetting>({
    says: "what kite notify runs, whether it starts with the daemon, and after how long it tells, in ms",
    schema: notifySchema,
    initial: {},
    variable: "KITE_NOTIFY",
  }),
} satisfies SettingTable;
