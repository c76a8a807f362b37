/** The settings of what Kite keeps of the agents' work. */
import * as z from "zod";
import { limits } from "../../protocol/limits.ts";
import { globSchema } from "../config/base-settings.ts";
import { oneOf, type SettingTable, setting } from "../config/setting.ts";

export const rescueSettings = {
  /** Whether Kite keeps versions of the files that agents write. A project may only switch it off. */
  rescue: setting<"on" | "off">({
    fixed: true,
    says: "keep versions of the files that agents write, so that no work is lost: on or off",
    schema: oneOf(["on", "off"]),
    initial: "on",
    variable: "KITE_RESCUE",
    tighten: (user, project) => {
      if (project === user) return null;
      if (project === "off") return { value: project };
      return { ignored: "rescue on is ignored: a project may only switch it off" };
    },
  }),
  /** Globs of files that are never kept, besides those that Kite knows as secret. */
  rescueNever: setting<readonly string[]>({
    fixed: true,
    says: "globs of further files of which no version is kept; in the variable separated by :",
    schema: z
      .array(globSchema, { error: 'expected a list of globs, such as ["*.sqlite", "private/"]' })
      .max(limits.rescueNeverMax),
    initial: [],
    variable: "KITE_RESCUE_NEVER",
  }),
} satisfies SettingTable;
