// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The page of `attn explore`: takes the data out of the page, and shows it.
import { render } from 'preact';

const data = JSON.parse(document.getElementById('attn-data')!.textContent!);

render(<h1>{data.explanations[0].model.name}</h1>, document.getElementById('app')!);
