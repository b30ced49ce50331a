// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// node validate.mjs MODULES ANSWERS.json: validates answers by ajv, with the formats of ajv-formats. ANSWERS holds schemas with
// their texts: [[schema, [text, ...]], ...].
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [modules, file] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { default: Ajv } = require("ajv/dist/2020");
const formats = require("ajv-formats");

let texts = 0;
for (const [schema, answers] of JSON.parse(readFileSync(file, "utf8"))) {
  const ajv = new Ajv({ strict: false, allErrors: true, multipleOfPrecision: 9 });
  formats(ajv);
  const validate = ajv.compile(schema);
  for (const text of answers) {
    ++texts;
    if (!validate(JSON.parse(text))) {
      console.log(`${JSON.stringify(schema)}\n${text}\n${ajv.errorsText(validate.errors)}`);
      process.exit(1);
    }
  }
}
console.log(`ajv: ${texts} answers are valid`);
