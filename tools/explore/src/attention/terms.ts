// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The terms of an attention, and their names for people.
import type { Kernel, Term, TermName } from '../data';

export const termTitles: Record<TermName, string> = {
  score: 'score', bias: 'bias', cap: 'cap', mask: 'mask', weight: 'weight', values: 'sum of values',
};

/** The terms that an attention has, in the order in which they work. */
export function termsOf(kernel: Kernel): Term[] {
  if (kernel.facts.terms)
    return kernel.facts.terms;
  const text = (name: string, other = '') => String(kernel.facts[name] ?? other);
  const all: [TermName, string][] = [
    ['score', text('score', 'scaled_dot')], ['bias', text('bias')], ['cap', text('cap')], ['mask', text('mask')], ['weight', 'softmax'], ['values', 'v'],
  ];
  return all.filter(([, words]) => words !== '').map(([term, words]) => ({ term, text: words, at: kernel.at ?? '' }));
}
