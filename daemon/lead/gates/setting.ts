/** The form of the setting `gates`. */
import * as z from "zod";
import {
  type Gates,
  gateModes,
  gateNames,
  gatePresets,
  gatesInForce,
  gatesText,
  gatesUnset,
  stricter,
} from "../../../protocol/lead/roles.ts";
import { type SettingTable, setting } from "../../config/setting.ts";

const preset = z.enum(["off", "team", "strict"]);
const gateMode = z.enum(gateModes).optional();

/** A preset, or single gates over a preset. */
export const gatesSchema = z
  .union(
    [
      preset,
      z.strictObject({
        preset: preset.optional(),
        givenRole: z.literal("enforce").optional(),
        role: gateMode,
        identity: gateMode,
        understanding: gateMode,
        codeView: gateMode,
        delegation: gateMode,
        recovery: gateMode,
        quality: gateMode,
      }),
    ],
    {
      error: `expected off, team or strict, or an object with a preset and any of ${gateNames.join(", ")} as off, warn or enforce`,
    },
  )
  .transform((asked): Gates => {
    if (typeof asked === "string") return gatePresets[asked];
    const { preset: base = "off", ...single } = asked;
    const of = gatePresets[base];
    const isUnset = asked.preset === undefined && single.role === undefined;
    return {
      ...(isUnset || single.givenRole !== undefined ? { givenRole: "enforce" } : {}),
      role: single.role ?? of.role,
      identity: single.identity ?? of.identity,
      understanding: single.understanding ?? of.understanding,
      codeView: single.codeView ?? of.codeView,
      delegation: single.delegation ?? of.delegation,
      recovery: single.recovery ?? of.recovery,
      quality: single.quality ?? of.quality,
    };
  });

export const gateSettings = {
  /** Which gates hold agents back: `off`, `team`, `strict`, or each gate singly. A project may only make them stricter. */
  gates: setting<Gates>({
    says: "what agents have to do before they write, stop or finish: off, team or strict",
    schema: gatesSchema,
    initial: gatesUnset,
    variable: "KITE_GATES",
    tighten: (user, project) => {
      const value = stricter(user, project);
      const [set, had] = [gatesText(project), gatesText(user)];
      if (gatesText(value) !== had) return { value };
      // A file that says nothing of roles asks for no less.
      const isLess =
        user.givenRole === "enforce" && project.givenRole === undefined && user.role !== "enforce";
      if (set === had && !isLess) return null;
      const ignored = `gates ${set} are ignored: a project may only make them stricter (${gatesInForce(user)})`;
      return { ignored };
    },
  }),
} satisfies SettingTable;
