"""boosted.py: models of LightGBM and XGBoost, converted by onnxmltools."""

import lightgbm
import numpy as np
import onnxmltools
import xgboost
from cases import ROWS, Case, amounts, missing, named, numbered, rows
from onnxmltools.convert.common.data_types import FloatTensorType

LIGHT = {"n_estimators": 9, "num_leaves": 9, "min_child_samples": 5, "verbose": -1, "n_jobs": 1, "random_state": 0}
EXTREME = {"n_estimators": 9, "max_depth": 4, "n_jobs": 1, "random_state": 0}
GROUPS = [20] * (ROWS // 20)


def with_categories():
    """The last column becomes one of nine categories."""
    result = rows()
    result[:, -1] = np.abs(result[:, -1]) // 2 % 9
    return result


DATA = {"numbers": rows(), "missing": missing(rows()), "categories": with_categories()}
Y = amounts(rows()) + DATA["categories"][:, -1] * 2


def types(x):
    return [("x", FloatTensorType([None, x.shape[1]]))]


# ---- LightGBM -------------------------------------------------------------------------------------------------------

def light(what, model, data, y, **options):
    """A case of one model; the last column holds categories where the data has some."""
    x = DATA[data]
    model.fit(x, y, categorical_feature=[x.shape[1] - 1] if data == "categories" else "auto", **options)
    yield from light_cases(what, model, x)


def light_cases(what, model, x):
    for zipmap in (False, True) if isinstance(model, lightgbm.LGBMClassifier) else (False,):
        onnx = onnxmltools.convert_lightgbm(model, initial_types=types(x), zipmap=zipmap)
        yield Case(f"LightGBM {what}, zipmap {zipmap}", onnx, {"x": x})


def light_models():
    for data in DATA:
        for count in (2, 3):
            yield from light(f"of {count} classes, {data}", lightgbm.LGBMClassifier(**LIGHT), data,
                             numbered(rows(), count))
        yield from light(f"of words, {data}", lightgbm.LGBMClassifier(**LIGHT), data, named(rows(), 3))
        yield from light(f"regressor, {data}", lightgbm.LGBMRegressor(**LIGHT), data, Y)
        yield from light(f"ranker, {data}", lightgbm.LGBMRanker(**LIGHT), data, numbered(rows(), 4), group=GROUPS)
    for objective in ("poisson", "tweedie", "gamma", "huber", "quantile", "regression_l1"):
        yield from light(objective, lightgbm.LGBMRegressor(objective=objective, **LIGHT), "missing", np.abs(Y) + 1)
    yield from light("dart", lightgbm.LGBMRegressor(boosting_type="dart", **LIGHT), "missing", Y)
    forest = lightgbm.LGBMRegressor(boosting_type="rf", bagging_freq=1, bagging_fraction=0.7, **LIGHT)
    yield from light("forest", forest, "missing", Y)
    yield from light_cases("booster", forest.booster_, DATA["missing"])


# ---- XGBoost --------------------------------------------------------------------------------------------------------

def extreme(what, model, data, y, **options):
    x = DATA[data]
    if data == "categories":
        model.set_params(enable_categorical=True, feature_types=["q"] * (x.shape[1] - 1) + ["c"])
    model.fit(x, y, **options)
    learned = model.get_booster() if isinstance(model, xgboost.XGBRanker) else model
    yield Case(f"XGBoost {what}", onnxmltools.convert_xgboost(learned, initial_types=types(x)), {"x": x})


def extreme_models():
    for data in DATA:
        for count in (2, 3):
            yield from extreme(f"of {count} classes, {data}", xgboost.XGBClassifier(**EXTREME), data,
                               numbered(rows(), count))
        yield from extreme(f"regressor, {data}", xgboost.XGBRegressor(**EXTREME), data, Y)
    for learner in (xgboost.XGBRFClassifier, xgboost.XGBRFRegressor):
        yield from extreme(learner.__name__, learner(**EXTREME), "missing", numbered(rows(), 2))
    for objective in ("count:poisson", "reg:gamma", "reg:tweedie", "reg:absoluteerror", "reg:pseudohubererror"):
        yield from extreme(objective, xgboost.XGBRegressor(objective=objective, **EXTREME), "missing", np.abs(Y) + 1)
    yield from extreme("logistic", xgboost.XGBRegressor(objective="reg:logistic", **EXTREME), "missing",
                       numbered(rows(), 2))
    yield from extreme("ranker", xgboost.XGBRanker(**EXTREME), "missing", numbered(rows(), 4), group=GROUPS)


def cases():
    yield from light_models()
    yield from extreme_models()
