import { viewMissing } from "../declarations/missing.ts";
import type { WriteFacts } from "./facts.ts";

/** An agent changes code only in files that it declared, alone or with their folder. */
export function codeView({ declaration, file }: WriteFacts): readonly string[] {
  if (!file.isCode) return [];
  const declared = declaration?.files.find(
    ({ key, dir }) => key === file.key || (dir && file.key.startsWith(`${key}/`)),
  );
  if (declared !== undefined) return viewMissing([declared]);
  return [`codeView: ${file.path}, with what is there now (sees) and what you will do there (will)`];
}
