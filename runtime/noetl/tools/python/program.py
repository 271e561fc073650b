"""From the text of `code` to something that runs as a module does and may return (LANGUAGE §7).

A top-level `return` is legal: such a text becomes the body of a function whose names are all declared global,
so that its functions see them and a module's meaning stays, line numbers included.

    n = 2                 def __playbook__():
    if n: return n   →        global n
                              n = 2
                              if n: return n

An assignment to `result` comes before what is returned, unless that is made of it: `result = n * 2` and then
`return {"doubled": result}` is a step on the way, and gives the mapping.
"""

import ast
from types import CodeType

FILE = "<code>"
BODY = "__playbook__"


def compiled_code(code: str) -> CodeType:
    """The code object of a text; one with a top-level `return` defines BODY. Raises SyntaxError."""
    try:
        return compile(code, FILE, "exec", dont_inherit=True)
    except SyntaxError:
        tree = ast.parse(code, FILE)  # raises the error again when it is not about a return
        if not any(isinstance(node, ast.Return) for node in _own_nodes(tree.body)):
            raise
    body = [_AsBody().visit(statement) for statement in tree.body]
    function = ast.parse(f"def {BODY}(): pass", FILE).body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = body
    module = ast.Module([function], [])
    found = _locals(compile(module, FILE, "exec", dont_inherit=True))
    if found:
        function.body = [ast.copy_location(ast.Global(sorted(found)), function), *body]
    ast.fix_missing_locations(module)
    return compile(module, FILE, "exec", dont_inherit=True)


def _locals(module: CodeType) -> set[str]:
    """The names that the function BODY would keep to itself."""
    for constant in module.co_consts:
        if isinstance(constant, CodeType) and constant.co_name == BODY:
            return {*constant.co_varnames, *constant.co_cellvars}
    return set()


def _own_nodes(body: list[ast.stmt]) -> list[ast.AST]:
    """The nodes of a body without those of the functions and classes in it."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return found


class _AsBody(ast.NodeTransformer):
    """Drops the annotations of top-level names, which a global may not have, and gives what is made of `result`."""

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        value = node.value
        if value is None or not any(isinstance(part, ast.Name) and part.id == "result" for part in ast.walk(value)):
            return node
        name = ast.copy_location(ast.Name("result", ast.Store()), value)
        return ast.copy_location(ast.Return(ast.copy_location(ast.NamedExpr(name, value), value)), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if not isinstance(node.target, ast.Name):
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def _leave(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _leave
