/** The rules of declarations: see `core/rules.ts`. */
import { passing } from "../durability.ts";
import type { Rules } from "../rules.ts";
import type { DeclarationCommands } from "./commands.ts";
import { declare } from "./declare.ts";
import { declarationPart } from "./shared.ts";

export const declarationRules: Rules<DeclarationCommands> = {
  commands: { declare: passing(declare) },
  points: { parts: { declaration: declarationPart } },
};
