/** The settings of spawned agents. */
import * as z from "zod";
import { limits } from "../../../protocol/limits.ts";
import { type SettingTable, setting } from "../../config/setting.ts";

const error =
  'expected an object of lists of words, such as {"other": ["other-agent", "{prompt}"]}, with {prompt} in each';
const word = z.string({ error }).max(limits.spawnWordBytes);
const words = z
  .array(word, { error })
  .min(1, { error })
  .max(limits.spawnWordsMax)
  .refine(all => all.some(one => one.includes("{prompt}")), { error });

const spawnClientsSchema = z
  .record(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/), words, { error })
  .refine(all => Object.keys(all).length <= limits.spawnClientsMax, {
    error: `expected at most ${limits.spawnClientsMax} clients`,
  });

function wholeNumber(min: number, max: number) {
  const error = `expected a whole number from ${min} to ${max}`;
  return z.number({ error }).int({ error }).min(min, { error }).max(max, { error });
}

export const spawnSettings = {
  /** Spawned agents of one project that have not ended. */
  spawnMax: setting({
    says: "spawned agents of one project that have not ended",
    schema: wholeNumber(1, limits.spawnsLiveMax),
    initial: limits.spawnsLiveDefault,
    variable: "KITE_SPAWN_MAX",
  }),
  /** How deep agents may spawn agents; 1: a spawned agent spawns none. */
  spawnDepth: setting({
    says: "how deep agents may spawn agents; 1: a spawned agent spawns none",
    schema: wholeNumber(1, limits.spawnDepthMax),
    initial: limits.spawnDepthDefault,
    variable: "KITE_SPAWN_DEPTH",
  }),
  /** Clients that `kite spawn --client` starts, by name: the words of their commands. Only the user's own file may have it. */
  spawn: setting<z.output<typeof spawnClientsSchema>>({
    says: "commands of other agents' clients by name, as lists of words",
    schema: spawnClientsSchema,
    initial: {},
    variable: "KITE_SPAWN_CLIENTS",
  }),
} satisfies SettingTable;
