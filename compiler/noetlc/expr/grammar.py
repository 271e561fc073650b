"""The grammar of Jinja2's expression language, as lark reads it (LALR).

Precedence is that of Jinja2 3.1's parser, oddities included: a filter binds tighter than `**` and than a
sign's operand (`-x|abs` is `(-x)|abs`), a test takes one argument without parentheses, and a filter's name
may be dotted. Every alternative names the function of `noetlc.expr.build` that makes its value; `same` passes
its only part on. The terminals are made by `noetlc.expr.tokens`: whether a word is a keyword depends on what
stands before it, so that `a.in`, `x | default` and `f(if=1)` are names as they are in Jinja2.

`noetlc.generated.grammar_tables` is generated from this text (`tools/grammar_tables.py`).
"""

GRAMMAR = """
start: whole                                 -> same
whole: cond                                  -> same
     | commas                                -> bare_tuple
     | commas COMMA                          -> bare_tuple
     | cond COMMA                            -> single_tuple
commas: cond COMMA cond                      -> first_two
      | commas COMMA cond                    -> one_more

cond: open                                   -> same
    | open IF or_ ELSE cond                  -> conditional
open: or_                                    -> same
    | open IF or_                            -> conditional
or_: and_                                    -> same
   | or_ OR and_                             -> logic
and_: not_                                   -> same
    | and_ AND not_                          -> logic
not_: compare                                -> same
    | NOT not_                               -> negation

compare: sum                                 -> same
       | chain                               -> comparison
chain: sum comparator sum                    -> chain_start
     | chain comparator sum                  -> chain_more
comparator: EQ                               -> comparator
          | NE                               -> comparator
          | LT                               -> comparator
          | LE                               -> comparator
          | GT                               -> comparator
          | GE                               -> comparator
          | IN                               -> comparator
          | NOT IN                           -> not_in

sum: concat                                  -> same
   | sum PLUS concat                         -> binary
   | sum MINUS concat                        -> binary
concat: product                              -> same
      | tildes                               -> concat
tildes: product TILDE product                -> first_two
      | tildes TILDE product                 -> one_more
product: power                               -> same
       | product STAR power                  -> binary
       | product SLASH power                 -> binary
       | product DOUBLE_SLASH power          -> binary
       | product PERCENT power               -> binary
power: filtered                              -> same
     | power DOUBLE_STAR filtered            -> binary

filtered: unary                              -> same
        | bare                               -> same
        | called                             -> same
bare: filtered PIPE dotted                   -> filter_
    | filtered IS dotted                     -> test
    | filtered IS NOT dotted                 -> test_not
    | filtered IS dotted target              -> test_one
    | filtered IS NOT dotted target          -> test_not_one
called: filtered PIPE dotted arguments       -> filter_
      | filtered IS dotted arguments         -> test
      | filtered IS NOT dotted arguments     -> test_not
      | called arguments                     -> call
dotted: NAME                                 -> dotted
      | dotted DOT NAME                      -> dotted_more

unary: postfix                               -> same
     | MINUS unary                           -> unary
     | PLUS unary                            -> unary
postfix: primary                             -> same
       | postfix DOT NAME                    -> attribute
       | postfix DOT INT                     -> index
       | postfix LSQB subscripts RSQB        -> item
       | postfix arguments                   -> call
target: atom                                 -> same
      | target DOT NAME                      -> attribute
      | target DOT INT                       -> index
      | target LSQB subscripts RSQB          -> item
      | target arguments                     -> call

primary: atom                                -> same
       | LPAR RPAR                           -> empty_tuple
       | LPAR whole RPAR                     -> parenthesised
atom: NAME                                   -> name
    | CONST                                  -> const
    | INT                                    -> const
    | FLOAT                                  -> const
    | strings                                -> text
    | LSQB RSQB                              -> list_of
    | LSQB items RSQB                        -> list_of
    | LSQB items COMMA RSQB                  -> list_of
    | LBRACE RBRACE                          -> map_of
    | LBRACE pairs RBRACE                    -> map_of
    | LBRACE pairs COMMA RBRACE              -> map_of
strings: STRING                              -> string
       | strings STRING                      -> string_more
items: cond                                  -> first
     | items COMMA cond                      -> one_more
pairs: pair                                  -> first
     | pairs COMMA pair                      -> one_more
pair: cond COLON cond                        -> pair

subscripts: subscript                        -> first
          | subscripts COMMA subscript       -> one_more
subscript: cond                              -> same
         | bound COLON bound                 -> slice_
         | bound COLON bound COLON bound     -> slice_
bound:                                       -> nothing
     | cond                                  -> same

arguments: LPAR RPAR                         -> arguments
         | LPAR listed RPAR                  -> arguments
         | LPAR listed COMMA RPAR            -> arguments
listed: argument                             -> first
      | listed COMMA argument                -> one_more
argument: cond                               -> positional
        | KEY ASSIGN cond                    -> keyword
        | STAR cond                          -> unpacked
        | DOUBLE_STAR cond                   -> unpacked

%declare AND ASSIGN COLON COMMA CONST DOT DOUBLE_SLASH DOUBLE_STAR ELSE EQ FLOAT GE GT IF IN INT IS KEY
%declare LBRACE LE LPAR LSQB LT MINUS NAME NE NOT OR PERCENT PIPE PLUS RBRACE RPAR RSQB SLASH STAR STRING TILDE
"""
